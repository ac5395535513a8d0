/** Returns a name that needs no quotes in SQL, in a search_path or in a connection's options. Throws for any other. */
export function plainIdentifier(name: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(name)) return name
  throw new Error(`"${name}" must be lower-case letters, digits and underscores, as a name in Postgres.`)
}
