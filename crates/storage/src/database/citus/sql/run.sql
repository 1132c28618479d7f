-- Runs a statement on the shards of a company, as a prepared statement that takes its values as text. If the session has prepared too many
-- statements, plans it only for this call.
statement := $text$:statement$text$;
prepared := prepared_statement(':name', ':types', statement, :company);
if prepared is not null then
    :execute format('execute %I(:texts)', prepared, :values);
else
    :execute format(statement, variadic company_shards(:company)) using :values;
end if;
