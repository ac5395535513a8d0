import type { Admin, GroupDescription } from 'kafkajs'
import { keepTrying } from '../connect/keep-trying.ts'

/** Reads and deletes consumer groups. */
export interface GroupAdmin {
  /** Returns the offsets that a group has committed to Kafka, by partition. For dashboards: checkpoints are in Postgres. */
  readonly groupOffsets: (groupId: string, topic: string) => Promise<ReadonlyMap<number, bigint>>
  /** Returns the metadata that a group has committed with its offsets (`commitNote`), by partition, '' if there is none. */
  readonly groupNotes: (groupId: string, topic: string) => Promise<ReadonlyMap<number, string>>
  /** Returns the ids of groups that begin with `prefix`. */
  readonly listGroups: (prefix: string) => Promise<readonly string[]>
  readonly describeGroup: (groupId: string) => Promise<{
    readonly state: GroupDescription['state']
    readonly members: readonly { readonly memberId: string; readonly clientId: string; readonly host: string }[]
  }>
  /** Deletes groups without members. Ignores groups that have members or do not exist. */
  readonly deleteEmptyGroups: (groupIds: readonly string[]) => Promise<void>
}

/** `trying`: a starting broker refuses requests about groups for longer than kafkajs retries. */
export function createGroupAdmin(admin: Admin, trying: Parameters<typeof keepTrying>[1]): GroupAdmin {
  const committedBy = async (groupId: string, topic: string) => {
    const [answer] = await keepTrying(() => admin.fetchOffsets({ groupId, topics: [topic] }), trying)
    return answer?.partitions.filter(({ offset }) => !offset.startsWith('-')) ?? []
  }

  return {
    groupOffsets: async (groupId, topic) => {
      const committed = await committedBy(groupId, topic)
      return new Map(committed.map(({ partition, offset }) => [partition, BigInt(offset)]))
    },
    groupNotes: async (groupId, topic) => {
      const committed = await committedBy(groupId, topic)
      return new Map(committed.map(({ partition, metadata }) => [partition, metadata ?? '']))
    },
    listGroups: async (prefix) => {
      const { groups } = await keepTrying(() => admin.listGroups(), trying)
      return groups.map(({ groupId }) => groupId).filter((groupId) => groupId.startsWith(prefix))
    },
    describeGroup: async (groupId) => {
      const { groups } = await keepTrying(() => admin.describeGroups([groupId]), trying)
      const members = groups[0]?.members ?? []
      return {
        state: groups[0]?.state ?? 'Unknown',
        members: members.map(({ memberId, clientId, clientHost }) => ({ memberId, clientId, host: clientHost })),
      }
    },
    deleteEmptyGroups: async (groupIds) => {
      if (groupIds.length === 0) return
      await admin.deleteGroups([...groupIds]).catch((error: unknown) => {
        if (!(error instanceof Error) || error.name !== 'KafkaJSDeleteGroupsError') throw error
      })
    },
  }
}
