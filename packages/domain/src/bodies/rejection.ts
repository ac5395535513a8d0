/** Why a body is not taken. `message` names the member that is wrong and says what would be right. */
export interface Rejection {
  readonly outcome: 'rejected'
  /** `no-user-name` is a matter of its own: the contract answers it like a missing key. */
  readonly reason: 'no-user-name' | 'invalid'
  readonly message: string
}

export function reject(message: string, reason: Rejection['reason'] = 'invalid'): Rejection {
  return { outcome: 'rejected', reason, message }
}
