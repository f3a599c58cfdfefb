-- Why: the functions are used by statements of the runtime only; nothing stored depends on them.
DROP FUNCTION sr.assert_count(bigint, bigint, text);
DROP FUNCTION sr.txid_behind(integer, text, bigint, bigint);
