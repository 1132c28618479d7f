-- Conditions on an affiliate. A null parameter means no condition.
and ($7::text is null or $7 = :a.status)
and ($8::integer is null or $8 = :a.country)
and ($9::text[] is null or $10::text = :a.id::text or :matches)
