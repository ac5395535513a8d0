/**
 * Each running view is the only member of its own consumer group, so that it gets every record. The note that it commits
 * with its offset ({@link ViewReport}) tells `nextvisit apply` and `status` what it holds, and serves nothing else.
 */
export function viewGroup(topic: string, serviceName: string, instance: string): string {
  return `${viewGroupPrefix(topic)}${serviceName}.${instance}`
}

/** `nextvisit.catalog.`: the prefix of all groups of a topic's views. */
export function viewGroupPrefix(topic: string): string {
  return `nextvisit.${topic}.`
}
