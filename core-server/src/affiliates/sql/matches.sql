-- Whether each of the patterns is in one of the texts of an affiliate, or one of its phone numbers has the digits.
case
    when concat_ws(E'\n', :a.client_affiliate_id, :a.affiliate_name, :a.first_name, :a.last_name, :a.company_name, :a.email_one, :a.email_two,
        :a.city) collate "C" ~ all (:patterns) then true
    when :digits is not null then :digits in (
        regexp_replace(:a.phone_one, '[^0-9]', '', 'g'), regexp_replace(:a.phone_two, '[^0-9]', '', 'g'))
end
