-- Why: a commit is sent whole, in one round trip, so a check made by the client comes after COMMIT. The
-- checks therefore stand inside the transaction and end it by an error of their own, which no data can
-- raise. VOLATILE keeps the planner from evaluating a call early or leaving it out.

-- assert_count ends the transaction with SR001 unless exactly as many rows were touched as expected.
CREATE FUNCTION sr.assert_count(actual bigint, expected bigint, what text) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
BEGIN
    IF actual IS DISTINCT FROM expected THEN
        RAISE EXCEPTION USING ERRCODE = 'SR001', DETAIL = what, MESSAGE = format('%s: %s of %s rows are as believed', what, actual, expected);
    END IF;
    RETURN true;
END
$$;

-- txid_behind ends the transaction with SR002: a state row was written by a later batch than the one that
-- writes it now. It returns what its place in a fold has to be.
CREATE FUNCTION sr.txid_behind(bucket integer, key text, stored bigint, own bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'SR002',
        MESSAGE = format('the row of key %s was written by txid %s, this batch has txid %s', key, stored, own),
        DETAIL = jsonb_build_object('bucket', bucket, 'key', key, 'stored', stored, 'own', own)::text;
END
$$;
