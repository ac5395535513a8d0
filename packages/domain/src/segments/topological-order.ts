interface Visit {
  readonly id: string
  readonly dependencies: Iterator<string>
}

/**
 * Returns `ids` and everything they depend on, each id after its dependencies. A dependency that closes a cycle is
 * skipped, and `onCycle` gets the id that closes the cycle, and the path that leads to it: the cycle is its part from that id
 * on. Not recursive: a chain may be longer than the stack allows.
 */
export function topologicalOrder(
  ids: Iterable<string>,
  dependenciesOf: (id: string) => Iterable<string>,
  onCycle?: (id: string, path: ReadonlySet<string>) => void,
): readonly string[] {
  const order: string[] = []
  const done = new Set<string>()
  const onPath = new Set<string>()
  const stack: Visit[] = []
  const enter = (id: string) => {
    if (done.has(id)) return
    if (onPath.has(id)) {
      onCycle?.(id, onPath)
      return
    }
    onPath.add(id)
    stack.push({ id, dependencies: dependenciesOf(id)[Symbol.iterator]() })
  }
  for (const root of ids) {
    enter(root)
    for (let last = stack.at(-1); last; last = stack.at(-1)) {
      const next = last.dependencies.next()
      if (next.done !== true) {
        enter(next.value)
        continue
      }
      stack.pop()
      onPath.delete(last.id)
      done.add(last.id)
      order.push(last.id)
    }
  }
  return order
}
