import type { LogAdmin } from '@nextvisit/log'

/** Returns a reader of a topic with one partition that calls `read`, which folds the whole topic, only if it has grown. */
export function createReadIfGrown<State>(
  topic: string,
  read: () => Promise<State>,
): (admin: LogAdmin) => Promise<State> {
  let known: { readonly end: bigint; readonly state: State } | undefined
  return async (admin) => {
    const end = (await admin.watermarks(topic)).get(0)?.high ?? 0n
    if (known?.end !== end) known = { end, state: await read() }
    return known.state
  }
}
