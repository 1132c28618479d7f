-- Runs a statement for items of several companies on one node, once for each shard. Items of one shard follow each other.
shards := locked_shards($1);
while last < cardinality($1) loop
    first := last + 1;
    loop
        last := last + 1;
        exit when last = cardinality($1) or shards[last + 1] <> shards[first];
    end loop;
    :run
end loop;
