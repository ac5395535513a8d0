import { describe, expect, it } from 'vitest'
import { formFactIdOf, queuedIdOf } from './form-ids.ts'

const RECORD = '018f6f5e-0000-7000-8000-000000000001'
const OTHER = '018f6f5e-0000-7000-8000-000000000002'
const RECEIVED = '2026-11-02T10:00:00.000Z'
const UUID_V5 = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** forms.md, The queue. What is in the log and in databases was named so: these must never change. */
describe("a row's id", () => {
  it('is a fixed UUIDv5 of record id, received and form id', () => {
    expect(queuedIdOf(RECORD, RECEIVED, 'nps')).toBe('e751782d-4081-50f1-b21c-6bb141f76c13')
  })

  it('differs for each of them', () => {
    const ids = [
      queuedIdOf(RECORD, RECEIVED, 'nps'),
      queuedIdOf(OTHER, RECEIVED, 'nps'),
      queuedIdOf(RECORD, '2026-11-03T10:00:00.000Z', 'nps'),
      queuedIdOf(RECORD, RECEIVED, 'ces'),
    ]
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(UUID_V5)
  })
})

describe("a change's id on form-events", () => {
  it('is fixed for each row and change, and for each visit of a delivery', () => {
    const row = queuedIdOf(RECORD, RECEIVED, 'nps')
    const ids = [
      formFactIdOf(row, 'FormQueued'),
      formFactIdOf(row, 'FormCancelled'),
      formFactIdOf(row, 'FormExpired'),
      formFactIdOf(row, 'FormDelivered', RECORD),
      formFactIdOf(row, 'FormDelivered', OTHER),
      formFactIdOf(OTHER, 'FormQueued'),
    ]
    expect(new Set(ids).size).toBe(ids.length)
    expect(formFactIdOf(row, 'FormDelivered', RECORD)).toBe('bac7df7f-b75c-5882-84a6-166b77df9853')
  })
})
