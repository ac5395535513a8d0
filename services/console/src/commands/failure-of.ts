import type { Failure } from './api.ts'
import type { CliEnd } from './cli-process.ts'

/** Why a command ended that has said neither an outcome nor an error. */
export function failureOf(how: CliEnd, stoppedBy: string | undefined): Failure {
  if (stoppedBy !== undefined) return failure('STOPPED', `${stoppedBy} stopped it.`)
  if (how.how === 'not-started')
    return failure('NOT_STARTED', 'The process could not be started: the machine has no room for it.')
  if (how.how === 'too-much-output')
    return failure('TOO_MUCH_OUTPUT', 'It found more than the console can show. Run the command on a terminal.')
  if (how.how === 'killed' && how.signal === 'SIGABRT')
    return failure('OUT_OF_MEMORY', 'It ran out of memory. Run the command on a machine that has more.')
  if (how.how === 'killed') return failure('KILLED', `It was ended from outside, by ${how.signal}.`)
  const because = `It ended with exit code ${how.exitCode} and said nothing that the console understands.`
  return failure(
    'ENDED',
    `${because} CONSOLE_CLI must be the nextvisit of this version; the log of the console says more.`,
  )
}

function failure(code: string, message: string): Failure {
  return { code, message, faults: [] }
}
