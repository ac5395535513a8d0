-- A whole commit in one round trip: runs the statements in order, all or none. `$1[n]` in a statement is the nth argument,
-- as text. With the rights of whoever calls it.
CREATE FUNCTION execute_all(statements text[], arguments text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  statement text;
BEGIN
  FOREACH statement IN ARRAY statements LOOP
    EXECUTE statement USING arguments;
  END LOOP;
END $$;
