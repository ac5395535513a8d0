import { describe, expect, it } from 'vitest'
import { misspeltMembers } from './misspelt-members.ts'

const of = (line: string) => misspeltMembers(Buffer.from(line))

describe('members that are misspelt', () => {
  it.each([
    ['usrName', 'userName'],
    ['user_name', 'userName'],
    ['username', 'userName'],
    ['eventNmae', 'eventName'],
    ['occuredAt', 'occurredAt'],
    ['userAttributs', 'userAttributes'],
    ['tpye', 'type'],
    ['propertes', 'properties'],
  ])('%s is %s', (name, meant) => {
    expect(of(JSON.stringify({ [name]: 'x' }))).toEqual([`unknown member "${name}": did you mean ${meant}?`])
  })

  it.each([
    ['known members', '{"type":"track","userName":"ada"}'],
    ['members unlike any known one', '{"plan":"pro","at":"2026-01-01"}'],
    ['a variant of a present member', '{"userName":"ada","username":"ada"}'],
    ['members of an array', '["usrName"]'],
    ['invalid JSON', '{"usrName"'],
  ])('do not include %s', (_, line) => {
    expect(of(line)).toEqual([])
  })
})
