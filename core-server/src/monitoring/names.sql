select vocabulary, id, name, parent_id as parent
from vocabulary_entries
where company_id = $1
order by vocabulary, id
