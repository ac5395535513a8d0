import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { CommandRunAnswer } from '../../../src/commands/api.ts'
import type { ReplayAnswer, StartReplay } from '../../../src/replay/api.ts'
import type { SimulationAnswer, StartSimulation } from '../../../src/simulation/api.ts'
import { getFrom, postTo } from '../app/call-api.ts'

/** The commands that the console runs: what starts one, and what is known of the last. */
interface Commands {
  readonly replay: { readonly asked: StartReplay; readonly answer: ReplayAnswer }
  readonly simulation: { readonly asked: StartSimulation; readonly answer: SimulationAnswer }
}
type Command = keyof Commands

/** While a command runs its state is asked often, else now and then: somebody else may start one. */
const RUNNING_AGAIN_AFTER_MS = 1_000
const IDLE_AGAIN_AFTER_MS = 10_000

export function isRunning(run: CommandRunAnswer | null | undefined): boolean {
  return run?.endedAt === null
}

export function useCommand<Name extends Command>(command: Name) {
  return useQuery({
    queryKey: [command],
    queryFn: () => getFrom<Commands[Name]['answer']>(command),
    refetchInterval: ({ state }) => (isRunning(state.data?.run) ? RUNNING_AGAIN_AFTER_MS : IDLE_AGAIN_AFTER_MS),
  })
}

export function useStartCommand<Name extends Command>(command: Name) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (asked: Commands[Name]['asked']) => postTo(`${command}/start`, asked),
    onSettled: () => client.invalidateQueries({ queryKey: [command] }),
  })
}

export function useStopCommand(command: Command) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => postTo(`${command}/stop`),
    onSettled: () => client.invalidateQueries({ queryKey: [command] }),
  })
}
