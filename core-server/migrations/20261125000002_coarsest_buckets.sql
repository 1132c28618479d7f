-- A dimension of the counts: by ID, in buckets of 32 coarse ones each. Companies share the IDs, so one that has few records of many has
-- them in many buckets. A label cannot be used in the transaction that adds it.
alter type count_dimension add value if not exists 'id_coarsest' after 'id_coarse';
