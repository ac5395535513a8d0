import path from 'node:path'
import { cached } from './cached.ts'
import { IMAGES, KAFKA_VERSION } from './container-images.ts'
import { containerPlan } from './container-plan.ts'
import { dockerAnswers } from './docker.ts'
import { StackError } from './errors.ts'
import { launchOnPort } from './free-port.ts'
import { CLUSTER_ID, READY, SINGLE_NODE, type KafkaJvm, kafkaJvmPlan, prepareKafkaJvm } from './kafka-jvm.ts'
import { copyDependencies, hasMaven, java17 } from './maven.ts'
import { startOwnedProcess, type ProcessPlan } from './owned-process.ts'
import { asPart, type Part, type PartOptions } from './part.ts'

const POM = path.join(import.meta.dirname, '..', 'pom.xml')
/** Data folder of the image. */
const KAFKA_DATA = '/var/lib/kafka/data'

interface KafkaOptions extends PartOptions {
  /** Port for clients, if it differs from the broker's own: the port of a fault proxy. */
  readonly advertisedPort?: number | undefined
}

export interface Kafka extends Part {
  /** Address as `host:port`. */
  readonly brokers: string
}

/**
 * Starts a real Kafka (KRaft, one node) on loopback: from Maven's jars if Java 17 and Maven exist, otherwise as a container.
 * Rejects with a StackError that names the missing software if neither is possible.
 */
export async function startKafka(options: KafkaOptions): Promise<Kafka> {
  const jvm = await kafkaOnJvm(options)
  const { port, launched } = await launchOnPort(options.port, async (free) =>
    startOwnedProcess(jvm === undefined ? kafkaContainer(free, options) : await kafkaJvmPlan(jvm, free, options)),
  )
  return { ...asPart('Kafka', launched, port, options), brokers: `127.0.0.1:${port}` }
}

/** Resolves to the files of a broker on this machine's Java, or undefined if Kafka must run as a container. */
async function kafkaOnJvm({ onWait }: PartOptions): Promise<KafkaJvm | undefined> {
  const java = await java17()
  if (java !== undefined) {
    const inCache = cached(`kafka-${KAFKA_VERSION}`, async (folder) => {
      if (!(await hasMaven())) throw missing()
      onWait?.('Downloading Kafka (first start only)')
      await copyDependencies(POM, folder, { 'kafka.version': KAFKA_VERSION })
    })
    try {
      const jars = await inCache
      const prepared = await cached(`kafka-${KAFKA_VERSION}-on-java-${java}`, async (folder) => {
        onWait?.('Preparing Kafka for quick starts (first start only)')
        await prepareKafkaJvm(jars, folder)
      })
      return { jars, prepared }
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
    'Kafka needs Java 17 or newer with Maven, or a running Docker engine, and this machine has neither. Install one of them (Debian: apt install openjdk-17-jre-headless maven), or set KAFKA_BROKERS to use an existing Kafka.',
  )
}

/** Returns the environment of a container of Kafka whose clients connect to this port of 127.0.0.1. */
export function kafkaContainerEnvironment(advertisedPort: number): Readonly<Record<string, string>> {
  const settings = {
    ...SINGLE_NODE,
    'controller.quorum.voters': '1@localhost:9093',
    // The broker sends the markers of transactions to itself. In the container, it cannot reach the published port.
    'inter.broker.listener.name': 'LOCAL',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,LOCAL:PLAINTEXT,CONTROLLER:PLAINTEXT',
    listeners: 'PLAINTEXT://:9092,LOCAL://localhost:9094,CONTROLLER://localhost:9093',
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${advertisedPort},LOCAL://localhost:9094`,
    'log.dirs': KAFKA_DATA,
  }
  const environment = Object.entries(settings).map(
    ([name, value]) => [`KAFKA_${name.toUpperCase().replaceAll('.', '_')}`, value] as const,
  )
  return { ...Object.fromEntries(environment), CLUSTER_ID, KAFKA_HEAP_OPTS: '-Xms256m -Xmx512m' }
}

function kafkaContainer(port: number, options: KafkaOptions): ProcessPlan {
  return containerPlan({
    name: 'Kafka',
    image: IMAGES.kafka,
    dataDirectory: options.dataDirectory,
    volumePath: KAFKA_DATA,
    port: { host: port, container: 9092 },
    environment: kafkaContainerEnvironment(options.advertisedPort ?? port),
    logFile: options.logFile,
    signal: options.signal,
    readyLine: READY,
  })
}
