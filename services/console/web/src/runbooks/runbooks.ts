const MODULES = import.meta.glob<string>('../../../../../docs/runbooks/*.md', {
  query: '?raw',
  import: 'default',
  eager: true,
})

/** The text of each runbook of the repository, by its name, such as `lag`: they are part of the pages, so they open offline. */
export const RUNBOOKS: ReadonlyMap<string, string> = new Map(
  Object.entries(MODULES).map(([path, text]) => [path.split('/').at(-1)?.replace('.md', '') ?? '', text]),
)
