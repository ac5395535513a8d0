import { AssignerProtocol } from 'kafkajs'
import type { UserConsumerName } from '@nextvisit/services'
import type { CampaignStack } from './campaign-stack.ts'
import { kafkaOf, USER_EVENTS } from './kafka-of.ts'

export interface GroupMember {
  readonly memberId: string
  /** Assigned partitions of `user-events`. */
  readonly partitions: readonly number[]
}

/** Lists the members of a consumer's group with their partitions; empty during a rebalance. */
export async function membersOf(stack: CampaignStack, consumer: UserConsumerName): Promise<readonly GroupMember[]> {
  const admin = kafkaOf(stack).admin()
  await admin.connect()
  try {
    const [group] = (await admin.describeGroups([`nextvisit.${consumer}`])).groups
    if (group?.state !== 'Stable') return []
    return group.members.map(({ memberId, memberAssignment }) => ({
      memberId,
      partitions: AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment[USER_EVENTS] ?? [],
    }))
  } finally {
    await admin.disconnect()
  }
}
