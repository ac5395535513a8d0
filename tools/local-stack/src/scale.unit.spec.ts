import { describe, expect, it } from 'vitest'
import { readScale } from './scale.ts'

describe('--scale', () => {
  it('names consumers and their number of processes', () => {
    expect([...readScale([])]).toEqual([])
    expect([...readScale(['metering=3', 'user-projector=2'])]).toEqual([
      ['metering', 3],
      ['user-projector', 2],
    ])
  })

  it.each([
    ['metering', '--scale metering: write the consumer and its number of processes, such as --scale metering=3.'],
    ['metering=-1', '--scale metering=-1: write the consumer'],
    ['meterin=2', 'there is no consumer meterin. The consumers are user-projector, trait-registry, metering,'],
    ['gateway=2', 'the gateway and the console have one process each'],
    ['metering=0', 'a consumer has 1 to 12 processes'],
    ['metering=13', 'a consumer has 1 to 12 processes'],
    ['metering=10', '--scale asks for 16 processes of consumers in all'],
  ])('%s is refused', (value, reason) => {
    expect(() => readScale([value])).toThrow(reason)
  })
})
