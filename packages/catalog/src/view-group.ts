/**
 * Each running view is the only member of a consumer group of its own, so that it gets every record; what it commits
 * there tells `nextvisit apply` how far it has read, and nobody else.
 */
export function viewGroup(topic: string, serviceName: string, instance: string): string {
  return `${viewGroupPrefix(topic)}${serviceName}.${instance}`
}

/** `nextvisit.catalog.`: what all groups of views of a topic begin with. */
export function viewGroupPrefix(topic: string): string {
  return `nextvisit.${topic}.`
}
