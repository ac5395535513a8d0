import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { javaCommand } from './config.ts'
import { freePort, launchOnPort } from './free-port.ts'
import { type ProcessPlan, startOwnedProcess } from './owned-process.ts'

export const CLUSTER_ID = 'MkU3OEVBNTcwNTJENDM2Qg'
export const READY = /Kafka Server started/

/**
 * JVM options for low CPU use and a quick start. With few requests a second, much of the broker would stay interpreted for
 * minutes, so it is compiled sooner. Warnings and the readiness line go to the log.
 */
const JVM_FLAGS = [
  '-Xms256m',
  '-Xmx512m',
  '-XX:TieredStopAtLevel=1',
  '-XX:CompileThresholdScaling=0.3',
  '-XX:-UsePerfData',
  '-XX:+UseSerialGC',
  '-XX:+ExitOnOutOfMemoryError',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info',
]

/**
 * Settings of a single node. The session lasts three heartbeats, because a restarted broker waits until its old session has
 * ended. One more heartbeat a second would cost an idle broker a tenth of its CPU.
 */
export const SINGLE_NODE = {
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
  'auto.create.topics.enable': 'false',
  'offsets.topic.num.partitions': '1',
  'offsets.topic.replication.factor': '1',
  'transaction.state.log.num.partitions': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'group.initial.rebalance.delay.ms': '0',
  'group.min.session.timeout.ms': '1000',
  // Groups are in one partition, so one thread does all their work. Each additional thread would wake five times a second.
  'group.coordinator.threads': '1',
  'log.cleaner.dedupe.buffer.size': '4194304',
  // Otherwise destroyed keys stay in their files for up to 15 s more. It costs an idle broker nothing that can be measured.
  'log.cleaner.backoff.ms': '1000',
  'num.network.threads': '2',
  'num.io.threads': '2',
  'background.threads': '2',
  'broker.session.timeout.ms': '3000',
  'broker.heartbeat.interval.ms': '1000',
  // Otherwise the controller writes an empty record every half a second: a fifth of an idle broker's CPU.
  'metadata.max.idle.interval.ms': '0',
}

/** Files of a broker that runs on this machine's Java. */
export interface KafkaJvm {
  /** Folder with its jars. */
  readonly jars: string
  /** Folder that {@link prepareKafkaJvm} filled for these jars and this Java. */
  readonly prepared: string
}

interface BrokerPlan {
  readonly dataDirectory: string
  readonly logFile: string
  readonly signal?: AbortSignal | undefined
  readonly advertisedPort?: number | undefined
}

const emptyLog = (prepared: string) => path.join(prepared, 'empty-log')
const classArchive = (prepared: string) => path.join(prepared, 'classes.jsa')

/** Returns the plan of a broker. A new data directory gets a copy of the empty log. */
export async function kafkaJvmPlan(
  { jars, prepared }: KafkaJvm,
  port: number,
  broker: BrokerPlan,
): Promise<ProcessPlan> {
  const logDirectory = path.join(broker.dataDirectory, 'log')
  if (!existsSync(path.join(logDirectory, 'meta.properties'))) {
    await cp(emptyLog(prepared), logDirectory, { recursive: true })
  }
  return brokerPlan(jars, port, broker, [`-XX:SharedArchiveFile=${classArchive(prepared)}`])
}

/**
 * Prepares fast starts of new brokers, which would otherwise use three times the CPU: formats an empty log, and runs a broker
 * whose JVM archives its loaded and verified classes. Another JVM version ignores the archive.
 */
export async function prepareKafkaJvm(jars: string, folder: string): Promise<void> {
  const dataDirectory = path.join(folder, 'first-run')
  const logDirectory = path.join(dataDirectory, 'log')
  const log = { dataDirectory, logFile: path.join(folder, 'first-run.log') }
  const { launched } = await launchOnPort(undefined, async (port) => {
    await rm(dataDirectory, { recursive: true, force: true })
    const plan = await brokerPlan(jars, port, log, [`-XX:ArchiveClassesAtExit=${classArchive(folder)}`])
    await format(jars, path.join(dataDirectory, 'server.properties'))
    await cp(logDirectory, emptyLog(folder), { recursive: true })
    return startOwnedProcess(plan)
  })
  launched.kill('SIGTERM')
  await launched.exited
  await rm(dataDirectory, { recursive: true })
}

/** Writes the broker's settings, and returns its plan. */
async function brokerPlan(
  jars: string,
  port: number,
  { dataDirectory, logFile, signal, advertisedPort = port }: BrokerPlan,
  jvmFlags: readonly string[],
): Promise<ProcessPlan> {
  const controllerPort = await freePort()
  const settings = path.join(dataDirectory, 'server.properties')
  await mkdir(dataDirectory, { recursive: true })
  await writeFile(
    settings,
    propertiesText({
      ...SINGLE_NODE,
      'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
      listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
      'advertised.listeners': `PLAINTEXT://127.0.0.1:${advertisedPort}`,
      'log.dirs': path.join(dataDirectory, 'log'),
    }),
  )
  return {
    name: 'Kafka',
    command: javaCommand(),
    args: [...JVM_FLAGS, ...jvmFlags, '-cp', path.join(jars, '*'), 'kafka.Kafka', settings],
    logFile,
    signal,
    readyLine: READY,
  }
}

async function format(jars: string, settings: string): Promise<void> {
  const tool = ['kafka.tools.StorageTool', 'format', '--cluster-id', CLUSTER_ID]
  const flags = ['-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
  await promisify(execFile)(javaCommand(), [...flags, '-cp', path.join(jars, '*'), ...tool, '--config', settings])
}

/** Formats a Java properties file. Only backslashes in values are escaped. */
function propertiesText(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\')}\n`)
    .join('')
}
