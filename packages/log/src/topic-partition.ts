/** Name of a partition in maps, logs and messages: `user-events/3`. */
export function topicPartition(topic: string, partition: number): string {
  return `${topic}/${partition}`
}
