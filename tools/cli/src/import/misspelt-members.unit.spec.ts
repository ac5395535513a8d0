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
    ['that are known', '{"type":"track","userName":"ada"}'],
    ['that are nothing like a known one', '{"plan":"pro","at":"2026-01-01"}'],
    ['whose meaning is there, too', '{"userName":"ada","username":"ada"}'],
    ['of what is no object', '["usrName"]'],
    ['of what is no JSON', '{"usrName"'],
  ])('are not those %s', (_, line) => {
    expect(of(line)).toEqual([])
  })
})
