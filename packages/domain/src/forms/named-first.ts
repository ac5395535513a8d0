interface Opened {
  readonly id: string
  readonly names: Iterator<string>
}

/**
 * `ids` and all that they lead to, each after what it names. Without recursion: a chain may be longer than the stack has
 * room for. A name that leads back to what is on the way to it is left out, and `onCycle` gets the way, from that id to itself.
 */
export function namedFirst(
  ids: Iterable<string>,
  namesOf: (id: string) => Iterable<string>,
  onCycle?: (way: readonly string[]) => void,
): readonly string[] {
  const order: string[] = []
  const done = new Set<string>()
  const onTheWay = new Set<string>()
  const way: Opened[] = []
  const open = (id: string) => {
    if (done.has(id)) return
    if (onTheWay.has(id)) {
      const opened = [...onTheWay]
      onCycle?.([...opened.slice(opened.indexOf(id)), id])
      return
    }
    onTheWay.add(id)
    way.push({ id, names: namesOf(id)[Symbol.iterator]() })
  }
  for (const root of ids) {
    open(root)
    for (let last = way.at(-1); last; last = way.at(-1)) {
      const next = last.names.next()
      if (next.done !== true) {
        open(next.value)
        continue
      }
      way.pop()
      onTheWay.delete(last.id)
      done.add(last.id)
      order.push(last.id)
    }
  }
  return order
}
