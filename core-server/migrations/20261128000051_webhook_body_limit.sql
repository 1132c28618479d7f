-- An endpoint that refuses a message for its size gets smaller ones.
alter table webhooks add column body_limit bigint; -- bytes of a message; null if it has refused none
