import type { LogAdmin } from '@nextvisit/log'

/** Reads a topic of one partition again only where it has grown. `read` folds all of it. */
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
