import { ROUTES } from '@nextvisit/contracts'
import { describeHostileTexts } from '@nextvisit/testing/hostile-text'
import { createCallerAddress } from './caller-address.ts'
import { keyInHeaders, writeKeyIn } from './find-key.ts'
import { hasKnownEncoding, isJson } from './body/read-body.ts'
import { traceOf } from './trace-parent.ts'

const callerAddress = createCallerAddress(['10.0.0.0/8', '::1'])
const socket = { remoteAddress: '::1' }

describeHostileTexts({
  'Content-Type': {
    read: (text) => isJson({ headers: { 'content-type': text } }),
    begins: ['application/json', 'application/json;', 'application/json; charset', 'application/json; charset="utf-8"'],
    try: [['application/json', ' ', 'x']],
  },
  'Content-Encoding': { read: (text) => hasKnownEncoding({ headers: { 'content-encoding': text } }), begins: ['gzip'] },
  traceparent: {
    read: (text) => traceOf(text, 'id', () => true),
    begins: ['00-', 'cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-'],
  },
  'X-Forwarded-For': {
    read: (text) => callerAddress({ headers: { 'x-forwarded-for': text }, socket }),
    begins: ['10.0.0.1', '[::1', 'fe80::1%', '::ffff:'],
    try: [
      ['', '::1,', ''],
      ['', '10.0.0.1,', 'x'],
      ['', ',', ''],
    ],
  },
  Authorization: {
    read: (authorization) => keyInHeaders(ROUTES.segmentBatch, { headers: { authorization } }),
    begins: ['Basic ', 'Basic bnY6', 'Basic  '],
  },
  'writeKey in a body': {
    read: (text) => writeKeyIn(Buffer.from(text)),
    begins: ['{"writeKey"', '{"writeKey":"nv_', '"writeKey":"nv_admin_P_'],
    try: [
      ['', '"writeKey"', ''],
      ['', '"writeKey":', ''],
      ['', '"writeKey":"nv_', ''],
      ['"writeKey"', ' ', 'x'],
    ],
  },
})
