import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { cached } from './cached.ts'
import { javaCommand } from './config.ts'
import { containerPlan } from './container-plan.ts'
import { dockerAnswers } from './docker.ts'
import { StackError } from './errors.ts'
import { freePort, launchOnPort } from './free-port.ts'
import { copyDependencies, hasJava17, hasMaven } from './maven.ts'
import { startOwnedProcess, type ProcessPlan } from './owned-process.ts'
import { asPart, type Part, type PartOptions } from './part.ts'

const KAFKA_VERSION = '4.1.2'
const CLUSTER_ID = 'MkU3OEVBNTcwNTJENDM2Qg'
const READY = /Kafka Server started/
const POM = path.join(import.meta.dirname, '..', 'pom.xml')

/** Options for low CPU use and a quick start. Warnings and the line that says it is ready go to the log. */
const JVM_FLAGS = [
  '-Xms256m',
  '-Xmx512m',
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
  '-XX:+ExitOnOutOfMemoryError',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info',
]

/** Settings of a single node. The session is short, because a restarted broker waits until its old session has ended. */
const BROKER_SETTINGS = {
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
  'log.cleaner.dedupe.buffer.size': '4194304',
  'num.network.threads': '2',
  'num.io.threads': '2',
  'background.threads': '2',
  'broker.session.timeout.ms': '1500',
  'broker.heartbeat.interval.ms': '375',
}

export interface KafkaOptions extends PartOptions {
  /** The port that clients connect to, if it is not the broker's own: the port of a fault proxy. */
  readonly advertisedPort?: number | undefined
}

export interface Kafka extends Part {
  /** `host:port` */
  readonly brokers: string
}

/**
 * Starts a real Kafka (KRaft, one node) on loopback: from Maven's jars if Java 17 and Maven exist, else as a container.
 * Rejects with a StackError that says what to install if neither is possible.
 */
export async function startKafka(options: KafkaOptions): Promise<Kafka> {
  const jars = await kafkaJars(options)
  const { port, launched } = await launchOnPort(options.port, async (free) =>
    startOwnedProcess(jars === undefined ? kafkaContainer(free, options) : await kafkaJvm(jars, free, options)),
  )
  return { ...asPart('Kafka', launched, port, options), brokers: `127.0.0.1:${port}` }
}

/** The folder with the broker's jars, or undefined if Kafka must run as a container. */
async function kafkaJars({ onWait }: PartOptions): Promise<string | undefined> {
  if (await hasJava17()) {
    const inCache = cached(`kafka-${KAFKA_VERSION}`, async (folder) => {
      if (!(await hasMaven())) throw missing()
      onWait?.('Kafka is downloaded, only the first time')
      await copyDependencies(POM, folder)
    })
    try {
      return await inCache
    } catch (error) {
      if (!(error instanceof StackError && error.code === 'REQUIREMENT_MISSING')) throw error
    }
  }
  if (await dockerAnswers()) return undefined
  throw missing()
}

function missing(): StackError {
  return new StackError(
    'REQUIREMENT_MISSING',
    'Kafka needs Java 17 or newer with Maven, or a running Docker engine, and this machine has neither. Install one of them (Debian: apt install openjdk-17-jre-headless maven), or set KAFKA_BROKERS to use a Kafka that runs elsewhere.',
  )
}

async function kafkaJvm(jars: string, port: number, options: KafkaOptions): Promise<ProcessPlan> {
  const controllerPort = await freePort()
  const logDirectory = path.join(options.dataDirectory, 'log')
  const settings = path.join(options.dataDirectory, 'server.properties')
  await mkdir(options.dataDirectory, { recursive: true })
  await writeFile(
    settings,
    propertiesText({
      ...BROKER_SETTINGS,
      'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
      listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
      'advertised.listeners': `PLAINTEXT://127.0.0.1:${options.advertisedPort ?? port}`,
      'log.dirs': logDirectory,
    }),
  )
  const classPath = path.join(jars, '*')
  if (!existsSync(path.join(logDirectory, 'meta.properties'))) await format(classPath, settings)
  return {
    name: 'Kafka',
    command: javaCommand(),
    args: [...JVM_FLAGS, '-cp', classPath, 'kafka.Kafka', settings],
    logFile: options.logFile,
    signal: options.signal,
    readyLine: READY,
  }
}

async function format(classPath: string, settings: string): Promise<void> {
  const tool = ['kafka.tools.StorageTool', 'format', '--ignore-formatted', '--cluster-id', CLUSTER_ID]
  const flags = ['-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
  await promisify(execFile)(javaCommand(), [...flags, '-cp', classPath, ...tool, '--config', settings])
}

function kafkaContainer(port: number, options: KafkaOptions): ProcessPlan {
  const settings = {
    ...BROKER_SETTINGS,
    'controller.quorum.voters': '1@localhost:9093',
    listeners: 'PLAINTEXT://:9092,CONTROLLER://:9093',
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${options.advertisedPort ?? port}`,
    'log.dirs': '/var/lib/kafka/data',
  }
  const environment = Object.entries(settings).map(
    ([name, value]) => [`KAFKA_${name.toUpperCase().replaceAll('.', '_')}`, value] as const,
  )
  return containerPlan({
    name: 'Kafka',
    image: `apache/kafka:${KAFKA_VERSION}`,
    dataDirectory: options.dataDirectory,
    volumePath: '/var/lib/kafka/data',
    port: { host: port, container: 9092 },
    environment: { ...Object.fromEntries(environment), CLUSTER_ID, KAFKA_HEAP_OPTS: '-Xms256m -Xmx512m' },
    logFile: options.logFile,
    signal: options.signal,
    readyLine: READY,
  })
}

/** The text of a Java properties file. Only backslashes in values are escaped. */
function propertiesText(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\')}\n`)
    .join('')
}
