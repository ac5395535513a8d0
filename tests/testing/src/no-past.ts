import type { Past } from '@nextvisit/consumer'

function refuse(): never {
  throw new Error('These ticks read no records a second time')
}

/** For the context of ticks that read no records a second time. */
export const NO_PAST: Past<never> = { readAgain: refuse, offsetAt: refuse }
