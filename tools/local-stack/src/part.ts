import { rm } from 'node:fs/promises'
import { containerName, removeVolume } from './docker.ts'
import type { OwnedProcess } from './owned-process.ts'

/** How a part (Kafka, Postgres, Redis) is to be started. */
export interface PartOptions {
  /** This part's own folder: its data, kept between starts. */
  readonly dataDirectory: string
  readonly logFile: string
  /** The loopback port to listen on; a free one if left out. */
  readonly port?: number
  /** False for tests: nothing is forced to disk, and `stop` deletes the data. */
  readonly durable?: boolean
  /** Told of what takes long the first time only. */
  readonly onWait?: (what: string) => void
  /** Gives up the start and ends what it began. */
  readonly signal?: AbortSignal
}

/** A running part. */
export interface Part extends OwnedProcess {
  readonly port: number
}

/** The process as a part; where its data need not outlive it, stopping it deletes them. */
export function asPart(name: string, process: OwnedProcess, port: number, options: PartOptions): Part {
  if (options.durable !== false) return { ...process, port }
  const stop = async (): Promise<void> => {
    await process.stop()
    await rm(options.dataDirectory, { recursive: true, force: true })
    await removeVolume(containerName(name, options.dataDirectory))
  }
  return { ...process, port, stop }
}
