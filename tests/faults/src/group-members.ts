import { AssignerProtocol } from 'kafkajs'
import type { ConsumerName } from '@nextvisit/services'
import type { CampaignStack } from './campaign-stack.ts'
import { kafkaOf, topicOf } from './kafka-of.ts'

export interface GroupMember {
  readonly memberId: string
  /** Assigned partitions of the topic. */
  readonly partitions: readonly number[]
}

/** Lists the members of a consumer's group with their partitions of a topic; empty during a rebalance. */
export async function membersOf(
  stack: CampaignStack,
  consumer: ConsumerName,
  topic = topicOf(consumer),
): Promise<readonly GroupMember[]> {
  const admin = kafkaOf(stack).admin()
  await admin.connect()
  try {
    const [group] = (await admin.describeGroups([`nextvisit.${consumer}`])).groups
    if (group?.state !== 'Stable') return []
    return group.members.map(({ memberId, memberAssignment }) => ({
      memberId,
      partitions: AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment[topic] ?? [],
    }))
  } finally {
    await admin.disconnect()
  }
}
