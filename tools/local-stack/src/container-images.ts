import { readFileSync } from 'node:fs'
import path from 'node:path'
import { CHECKOUT } from './config.ts'

const compose = readFileSync(path.join(CHECKOUT, 'docker-compose.yml'), 'utf8')

/** Images of the parts, from docker-compose.yml: the only file that names their versions. */
export const IMAGES = { kafka: imageOf('kafka'), postgres: imageOf('postgres'), redis: imageOf('redis') } as const

/** Version of Kafka, for its jars as well. */
export const KAFKA_VERSION = versionOf(IMAGES.kafka)

function imageOf(service: string): string {
  const [, image] = new RegExp(`^  ${service}:\n(?: {4}.*\n)*? {4}image: (\\S+)$`, 'm').exec(compose) ?? []
  if (image === undefined) throw new Error(`docker-compose.yml names no image for ${service}`)
  return image
}

function versionOf(image: string): string {
  const [, version] = /:(\d[\d.]*\d)/.exec(image) ?? []
  if (version === undefined) throw new Error(`docker-compose.yml pins no version of ${image}`)
  return version
}
