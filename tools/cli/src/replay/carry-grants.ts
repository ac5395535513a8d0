import type { Client } from '@nextvisit/database'
import type { Schemas } from './compare-tables.ts'

/** Gives everybody who has a right on the live schema, its tables, columns or functions the same right on the rebuilt ones. */
export async function carryGrants(client: Client, { live, rebuilt }: Schemas): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `WITH rights AS (
       SELECT 'SCHEMA ' || quote_ident($2) AS target, nspacl AS acl, '' AS part
       FROM pg_namespace WHERE nspname = $1
       UNION ALL
       SELECT format('%s %I.%I', CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, $2::text, relname), relacl, ''
       FROM pg_class
       WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p', 'S')
         AND to_regclass(format('%I.%I', $2::text, relname)) IS NOT NULL
       UNION ALL
       SELECT format('TABLE %I.%I', $2::text, relname), attacl, format(' (%I)', attname)
       FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
       WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
       UNION ALL
       SELECT format('FUNCTION %I.%I(%s)', $2::text, proname, pg_get_function_identity_arguments(oid)), proacl, ''
       FROM pg_proc WHERE pronamespace = to_regnamespace($1)
     )
     SELECT format('GRANT %s%s ON %s TO %s%s', privilege_type, part, target,
                   CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
                   CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) AS statement
     FROM rights, aclexplode(acl)`,
    [live, rebuilt],
  )
  if (rows.length > 0) await client.query(rows.map(({ statement }) => statement).join(';\n'))
}
