/** A name that needs no quoting anywhere: in SQL, in a search_path, in a connection's options. Throws on any other. */
export function plainIdentifier(name: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(name)) return name
  throw new Error(`"${name}" must be lower-case letters, digits and underscores, as a name in Postgres.`)
}
