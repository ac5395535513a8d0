import { type Refusal, refuse } from '../refusal.ts'
import type { Answer, CheckedRequest } from '../route.ts'
import type { Claim, KeptAnswer, KeptAnswers } from './kept-answers.ts'

/** Answers a request whose body is right. `answer` is not called where the answer is known already. */
export type AnswerOnce = (request: CheckedRequest, answer: () => Promise<Answer | Refusal>) => Promise<Answer | Refusal>

/**
 * `Idempotency-Key` (decisions.md, Retries): between the rules of the body and policy. Requests without the header go
 * straight on.
 */
export function createAnswerOnce(keptAnswers: KeptAnswers): AnswerOnce {
  return async (request, answer) => {
    const { keyed } = request
    if (keyed === 'none') return answer()
    if (keyed === 'malformed') return refuse(400, 'Idempotency-Key must be 1 to 255 visible ASCII characters')
    const claimed = await keptAnswers.claim(keyed)
    switch (claimed.outcome) {
      case 'answered':
        return replayed(claimed.answer)
      case 'taken':
        return refuse(422, 'Idempotency-Key was used with another body or route: choose a new one')
      case 'running':
        return refuse(409, 'Idempotency-Key is of a request that is still running: try again')
      case 'claimed':
        return settled(claimed, await answer())
    }
  }
}

/** Byte for byte: what JSON.stringify once wrote, it writes again after JSON.parse. */
function replayed({ status, body }: KeptAnswer): Answer {
  return { outcome: 'answered', status, headers: { 'Idempotent-Replayed': 'true' }, body }
}

/** Before the answer goes out: a caller who has it may repeat the request at once. */
async function settled(claim: Claim, result: Answer | Refusal): Promise<Answer | Refusal> {
  if (result.outcome === 'answered') await claim.keep(result)
  else if (result.mayBeRecorded || claim.isRetry) await claim.letGo()
  else await claim.forget()
  return result
}
