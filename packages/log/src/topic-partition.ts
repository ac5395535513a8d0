/** Names a partition of a topic: `user-events/3`. */
export function topicPartition(topic: string, partition: number): string {
  return `${topic}/${partition}`
}
