delete from webhooks w using set_config('compliance.changed_by', $3, true)
where w.company_id = $1 and w.id = $2
returning :columns
