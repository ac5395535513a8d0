import { readPropertySettings } from '@nextvisit/testing'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { givenRunningEvaluator, type RunningEvaluator } from '../test/given-running-evaluator.ts'
import { queueCommands } from '../test/queue-model-commands.ts'
import { workspaces } from '../test/queue-model-workspaces.ts'
import { beginStory } from '../test/queue-story.ts'

const settings = readPropertySettings(12)
let evaluator: RunningEvaluator
beforeAll(async () => {
  evaluator = await givenRunningEvaluator(inject('databaseUrl'))
})
afterAll(() => evaluator?.stop())

describe('the queue', () => {
  it('follows forms.md in every story', { timeout: settings.withinMs }, async () => {
    expect.hasAssertions()
    const commands = fc.commands(queueCommands, { maxCommands: 60, size: 'max', ...settings.replayCommands })
    await fc.assert(
      fc.asyncProperty(workspaces, commands, async (workspace, happening) => {
        await evaluator.begin()
        evaluator.apply(workspace)
        await fc.asyncModelRun(() => ({ model: beginStory(workspace), real: evaluator }), happening)
      }),
      { ...settings.replay, numRuns: settings.runs },
    )
  })
})
