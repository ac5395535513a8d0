import type { Client } from '@nextvisit/database'
import type { Schemas } from './compare-tables.ts'
import { ReplayError } from './replay-error.ts'
import { dropSchema, replacedOf } from './shadow-schema.ts'

/**
 * Throws if the live tables have foreign objects: a view, a foreign key, an index, a trigger. A swap would drop them with
 * the old tables. Grants are carried over instead.
 */
export async function requireNothingForeign(client: Client, { live, rebuilt }: Schemas): Promise<void> {
  const found = [...(await readOutside(client, live)), ...(await readAdded(client, live, rebuilt))]
  if (found.length === 0) return
  throw new ReplayError(
    'FOREIGN_OBJECTS',
    `The swap would drop foreign objects on the tables of the schema ${live}: ${found.join(', ')}. ` +
      'Nothing was swapped. Drop them, run the replay again, and create them again afterwards. To keep an index, add it in a migration.',
  )
}

/** Drops the old tables, unless foreign objects were added to them at the last moment. */
export async function dropReplaced(client: Client, live: string): Promise<void> {
  const found = await readOutside(client, replacedOf(live))
  if (found.length === 0) return dropSchema(client, replacedOf(live))
  throw new ReplayError(
    'FOREIGN_OBJECTS',
    `The read models were swapped. The old ones remain in the schema ${replacedOf(live)}, because these objects depend on them: ` +
      `${found.join(', ')}. Drop these, then run DROP SCHEMA ${replacedOf(live)} CASCADE.`,
  )
}

/** Reads the objects outside of a schema that depend on objects in it. */
async function readOutside(client: Client, schema: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `WITH inside AS (
       SELECT 'pg_class'::regclass AS classid, oid FROM pg_class WHERE relnamespace = to_regnamespace($1)
       UNION ALL SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE pronamespace = to_regnamespace($1)
       UNION ALL SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typnamespace = to_regnamespace($1)
     ), dependents AS (
       SELECT DISTINCT depend.classid, depend.objid, depend.objsubid
       FROM pg_depend AS depend JOIN inside ON (depend.refclassid, depend.refobjid) = (inside.classid, inside.oid)
     )
     SELECT DISTINCT CASE WHEN rewrite.oid IS NULL THEN pg_describe_object(classid, objid, objsubid)
                          ELSE 'view ' || rewrite.ev_class::regclass END AS name
     FROM dependents
     LEFT JOIN pg_rewrite AS rewrite ON classid = 'pg_rewrite'::regclass AND rewrite.oid = objid
     LEFT JOIN pg_constraint AS constr ON classid = 'pg_constraint'::regclass AND constr.oid = objid
     LEFT JOIN pg_attrdef AS attrdef ON classid = 'pg_attrdef'::regclass AND attrdef.oid = objid
     LEFT JOIN pg_trigger AS trigger ON classid = 'pg_trigger'::regclass AND trigger.oid = objid
     LEFT JOIN pg_class AS class ON class.oid = coalesce(
       rewrite.ev_class, constr.conrelid, attrdef.adrelid, trigger.tgrelid,
       CASE WHEN classid = 'pg_class'::regclass THEN objid END)
     LEFT JOIN pg_proc AS proc ON classid = 'pg_proc'::regclass AND proc.oid = objid
     LEFT JOIN pg_type AS type ON classid = 'pg_type'::regclass AND type.oid = objid
     WHERE coalesce(class.relnamespace, proc.pronamespace, type.typnamespace, 0::oid)
       NOT IN (to_regnamespace($1), 'pg_toast'::regnamespace)
     ORDER BY name`,
    [schema],
  )
  return rows.map(({ name }) => name)
}

/** Reads the objects of the live schema that are missing in the rebuilt one, which the migrations created. */
async function readAdded(client: Client, live: string, rebuilt: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(`(${namesIn(live)}) EXCEPT (${namesIn(rebuilt)}) ORDER BY name`)
  return rows.map(({ name }) => name)
}

/** Returns a query for the names of all objects in a schema. */
function namesIn(schema: string): string {
  return `
    SELECT CASE relkind WHEN 'i' THEN 'index ' WHEN 'v' THEN 'view ' WHEN 'm' THEN 'view ' WHEN 'S' THEN 'sequence '
                        ELSE 'table ' END || relname AS name
    FROM pg_class WHERE relnamespace = to_regnamespace('${schema}') AND relkind IN ('i', 'I', 'v', 'm', 'S', 'r', 'p', 'f')
    UNION ALL
    SELECT 'column ' || relname || '.' || attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = to_regnamespace('${schema}') AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT 'trigger ' || tgname || ' on ' || relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE relnamespace = to_regnamespace('${schema}') AND NOT tgisinternal
    UNION ALL
    SELECT 'policy ' || polname || ' on ' || relname FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
    WHERE relnamespace = to_regnamespace('${schema}')
    UNION ALL
    SELECT 'constraint ' || conname FROM pg_constraint WHERE connamespace = to_regnamespace('${schema}')
    UNION ALL
    SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = to_regnamespace('${schema}')`
}
