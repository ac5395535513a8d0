import { rm } from 'node:fs/promises'
import { containerName, removeVolume } from './docker.ts'
import type { OwnedProcess } from './owned-process.ts'

/** Options to start a part (Kafka, Postgres, Redis). */
export interface PartOptions {
  /** Folder for the part's data, kept between starts. */
  readonly dataDirectory: string
  readonly logFile: string
  /** Loopback port to listen on. Default: a free one. */
  readonly port?: number
  /** False in tests: no fsync, and `stop` deletes the data. */
  readonly durable?: boolean
  /** Called before a step that takes long at the first start. */
  readonly onWait?: (what: string) => void
  /** Aborts the start and ends its processes. */
  readonly signal?: AbortSignal
}

/** A running part. */
export interface Part extends OwnedProcess {
  readonly port: number
}

/** Wraps a process as a part. If the part is not durable, `stop` deletes its data. */
export function asPart(name: string, process: OwnedProcess, port: number, options: PartOptions): Part {
  if (options.durable !== false) return { ...process, port }
  const stop = async (): Promise<void> => {
    await process.stop()
    await rm(options.dataDirectory, { recursive: true, force: true })
    await removeVolume(containerName(name, options.dataDirectory))
  }
  return { ...process, port, stop }
}
