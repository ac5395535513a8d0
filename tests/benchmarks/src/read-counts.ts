/** A number on the command line. */
interface Count {
  readonly name: string
  readonly byDefault: number
}

/**
 * Reads numbers from the arguments, in this order; missing ones have their default. Prints `help` and ends the process for
 * `--help`, and ends it with 2 for anything else than whole numbers.
 */
export function readCountsOrExit(help: string, counts: readonly Count[], args = process.argv.slice(2)): number[] {
  if (args.includes('--help')) {
    console.log(help)
    process.exit(0)
  }
  try {
    return readCounts(counts, args)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`)
    process.exit(2)
  }
}

/** Throws a RangeError that names the invalid argument. */
export function readCounts(counts: readonly Count[], args: readonly string[]): number[] {
  const [surplus] = args.slice(counts.length)
  if (surplus !== undefined) throw new RangeError(`${surplus}: one argument too many`)
  return counts.map(({ name, byDefault }, index) => {
    const text = args[index] ?? String(byDefault)
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
    throw new RangeError(`${name}: ${text} is not a whole number, 1 or more`)
  })
}
