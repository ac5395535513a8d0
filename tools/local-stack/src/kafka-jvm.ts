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
 * Options for low CPU use and a quick start. Few requests a second would leave much of the broker interpreted for minutes, so
 * it is compiled sooner. Warnings and the line that says it is ready go to the log.
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
 * Settings of a single node. The session is three heartbeats, because a restarted broker waits until its old session has
 * ended. One heartbeat a second more would cost an idle broker a tenth of its CPU.
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
  // Groups live in one partition, so one thread does all their work. Each of the others would wake five times a second.
  'group.coordinator.threads': '1',
  'log.cleaner.dedupe.buffer.size': '4194304',
  'num.network.threads': '2',
  'num.io.threads': '2',
  'background.threads': '2',
  'broker.session.timeout.ms': '3000',
  'broker.heartbeat.interval.ms': '1000',
  // Otherwise the controller writes an empty record every half a second: a fifth of what an idle broker costs.
  'metadata.max.idle.interval.ms': '0',
}

/** A broker that runs on this machine's Java. */
export interface KafkaJvm {
  /** The folder with its jars. */
  readonly jars: string
  /** The folder that {@link prepareKafkaJvm} filled for these jars and this Java. */
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

/** The plan of a broker. A new data directory gets a copy of the empty log. */
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
 * Does once what would cost each start of a new broker two thirds of its CPU: formats an empty log, and runs a broker whose
 * JVM writes the classes that it has loaded and verified. Another JVM than the one that wrote them ignores the classes.
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

/** Writes the broker's settings, and returns how to run it. */
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

/** The text of a Java properties file. Only backslashes in values are escaped. */
function propertiesText(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\')}\n`)
    .join('')
}
