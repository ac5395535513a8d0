import type { TestProject } from 'vitest/node'

/** Hands the addresses of real parts down to the specs. */
export default function setup(project: TestProject): void {
  project.provide('kafkaBrokers', '127.0.0.1:19092')
  project.provide('databaseUrl', 'postgresql://postgres:pw@127.0.0.1:15432/postgres')
  project.provide('redisUrl', 'redis://127.0.0.1:16379')
}

declare module 'vitest' {
  export interface ProvidedContext {
    kafkaBrokers: string
    databaseUrl: string
    redisUrl: string
  }
}
