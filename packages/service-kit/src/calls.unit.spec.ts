import { type CallTable, defineBatchedCall, defineCall } from '@nextvisit/contracts'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import {
  createLocalClient,
  type CallClient,
  createCallClient,
  BEHIND,
  type Handlers,
  NOT_FOUND,
  type Send,
  serveCalls,
} from './calls.ts'

const table = {
  double: defineCall({
    path: '/internal/double',
    question: z.object({ n: z.number(), by: z.number().default(2) }),
    answer: z.object({ product: z.number() }),
  }),
  isEven: defineBatchedCall({ path: '/internal/even', question: z.number(), answer: z.boolean() }),
} satisfies CallTable

const handlers: Handlers<typeof table> = {
  double: async ({ n, by }) => ({ product: n * by }),
  isEven: async ({ questions }) => ({ answers: questions.map((n) => n % 2 === 0) }),
}

/** Never runs: the compiler checks it. */
export function doesNotCompile(send: Send): void {
  const { double, isEven } = handlers
  // @ts-expect-error a call has no handler
  serveCalls(table, { double })
  // @ts-expect-error the answer has another shape
  serveCalls(table, { isEven, double: async () => ({ quotient: 1 }) })
  // @ts-expect-error a member of the answer has another type
  serveCalls(table, { isEven, double: async () => ({ product: '2' }) })
  // @ts-expect-error the handler expects another question
  serveCalls(table, { isEven, double: async ({ m }: { m: number }) => ({ product: m }) })
  // @ts-expect-error one answer is not a list of answers
  serveCalls(table, { double, isEven: async () => ({ answers: true }) })

  const asks = createCallClient(table, send)
  // @ts-expect-error the table has no such call
  void asks.triple({ n: 1 })
  // @ts-expect-error the question lacks a member
  void asks.double({ by: 3 })
  // @ts-expect-error a member of the question has another type
  void asks.double({ n: '1' })
  // @ts-expect-error a client of other calls
  const others: CallClient<{ readonly double: typeof table.isEven }> = asks
  void others
}

describe('the calls of a table', () => {
  it('are typed at both ends', () => {
    type Double = Parameters<CallClient<typeof table>['double']>[0]
    expectTypeOf<Double>().toEqualTypeOf<{ n: number; by?: number | undefined }>()
    type Doubled = Parameters<Handlers<typeof table>['double']>[0]
    expectTypeOf<Doubled>().toEqualTypeOf<{ n: number; by: number }>()
    const { isEven } = createLocalClient(table, handlers)
    expectTypeOf(isEven).parameter(0).toEqualTypeOf<{ questions: number[] }>()
  })

  it('become one route each', () => {
    expect(serveCalls(table, handlers)).toEqual([
      { path: '/internal/double', question: table.double.question, handle: handlers.double },
      { path: '/internal/even', question: table.isEven.question, handle: handlers.isEven },
    ])
  })

  it('are passed to `send` with their question and options', async () => {
    const sent: unknown[] = []
    const asks = createCallClient(table, async (...parts) => {
      sent.push(parts)
      return { outcome: 'not-found' }
    })
    expect(await asks.double({ n: 1 }, { deadlineAt: 7 })).toEqual({ outcome: 'not-found' })
    expect(sent).toEqual([[table.double, { n: 1 }, { deadlineAt: 7 }]])
  })
})

describe('calls to handlers in the same process', () => {
  it('fill in defaults, and answer', async () => {
    const asks = createLocalClient(table, handlers)
    expect(await asks.double({ n: 4 })).toEqual({ outcome: 'answered', answer: { product: 8 } })
    expect(await asks.isEven({ questions: [1, 2] })).toEqual({
      outcome: 'answered',
      answer: { answers: [false, true] },
    })
  })

  it('have the outcomes of calls over HTTP', async () => {
    const asks = createLocalClient(table, { double: async () => NOT_FOUND, isEven: async () => BEHIND })
    expect(await asks.double({ n: 4 })).toEqual({ outcome: 'not-found' })
    expect(await asks.isEven({ questions: [] })).toEqual({ outcome: 'behind' })
  })

  it('reject a question or an answer that does not fit its schema', async () => {
    const asks = createLocalClient(table, { ...handlers, double: async () => ({ product: Number.NaN }) })
    await expect(asks.double({ n: Number.NaN })).rejects.toThrow(z.ZodError)
    await expect(asks.double({ n: 4 })).rejects.toThrow(z.ZodError)
  })
})
