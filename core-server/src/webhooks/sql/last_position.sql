-- Returns the position of the company's last change.
select coalesce((select p.position from change_positions p where p.company_id = $1), first_position())
