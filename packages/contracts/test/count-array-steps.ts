const CALLING = ['every', 'filter', 'find', 'findIndex', 'findLast', 'flatMap', 'forEach', 'map', 'some'] as const
const SCANNING = ['includes', 'indexOf'] as const

type Method = (this: unknown[], ...given: unknown[]) => unknown
const methods = Array.prototype as unknown as Record<string, Method>

/**
 * Counts the items that the methods of arrays visit while `run` works. It measures the cost of a function without a clock:
 * twice the input must not take four times the steps.
 */
export function countArraySteps(run: () => unknown): number {
  let steps = 0
  const add = (count: number) => void (steps += count)
  const restores = [
    ...CALLING.map((name) => replaceMethod(name, (method) => countingCalls(method, add))),
    ...SCANNING.map((name) => replaceMethod(name, (method) => countingItems(method, add))),
  ]
  try {
    run()
  } finally {
    for (const restore of restores) restore()
  }
  return steps
}

/** Replaces a method of all arrays. Returns a function that restores it. */
function replaceMethod(name: string, counting: (method: Method) => Method): () => void {
  const method = methods[name] as Method
  methods[name] = counting(method)
  return () => void (methods[name] = method)
}

function countingCalls(method: Method, add: (count: number) => void): Method {
  return function (call, ...others) {
    const counted = function (this: unknown, ...given: unknown[]): unknown {
      add(1)
      return (call as Method).apply(this as unknown[], given)
    }
    return method.call(this, counted, ...others)
  }
}

function countingItems(method: Method, add: (count: number) => void): Method {
  return function (...given) {
    add(this.length)
    return method.apply(this, given)
  }
}
