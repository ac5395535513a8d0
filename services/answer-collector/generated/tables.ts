// Made from prisma/schema.prisma by `pnpm generate`.
import type { ColumnsOf } from '@nextvisit/database'
import type * as prisma from './prisma/client.ts'

/** The table `offers`: its name, its columns and its key. */
export const Offer = [
  'offers',
  {
    organization: 'text',
    project: 'text',
    userId: 'uuid',
    id: 'uuid',
    formId: 'text',
    environment: 'text',
    language: 'text?',
    revision: 'int?',
    causeId: 'uuid',
    queuedAt: 'timestamptz',
    deliveredAt: 'timestamptz?',
    expiredAt: 'timestamptz?',
    startedAt: 'timestamptz?',
    answerId: 'uuid?',
    endedAt: 'timestamptz?',
    status: 'text?',
    answers: 'json',
    answerBytes: 'int',
    counted: 'jsonb',
  } satisfies ColumnsOf<prisma.Offer>,
  ['organization', 'project', 'userId', 'id'],
] as const

/** The table `funnels`: its name, its columns and its key. */
export const Funnel = [
  'funnels',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    step: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.Funnel>,
  ['organization', 'project', 'formId', 'environment', 'step', 'partition'],
] as const

/** The table `funnel_days`: its name, its columns and its key. */
export const FunnelDay = [
  'funnel_days',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    day: 'text',
    language: 'text',
    step: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.FunnelDay>,
  ['organization', 'project', 'formId', 'environment', 'day', 'language', 'step', 'partition'],
] as const

/** The table `answer_seconds`: its name, its columns and its key. */
export const AnswerSecond = [
  'answer_seconds',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    day: 'text',
    language: 'text',
    seconds: 'int',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.AnswerSecond>,
  ['organization', 'project', 'formId', 'environment', 'day', 'language', 'seconds', 'partition'],
] as const

/** The table `element_days`: its name, its columns and its key. */
export const ElementDay = [
  'element_days',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    day: 'text',
    language: 'text',
    element: 'text',
    type: 'text',
    value: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.ElementDay>,
  ['organization', 'project', 'formId', 'environment', 'day', 'language', 'element', 'type', 'value', 'partition'],
] as const

/** The table `erased_element_days`: its name, its columns and its key. */
export const ErasedElementDay = [
  'erased_element_days',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    day: 'text',
    language: 'text',
    element: 'text',
    type: 'text',
    value: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.ErasedElementDay>,
  ['organization', 'project', 'formId', 'environment', 'day', 'language', 'element', 'type', 'value', 'partition'],
] as const
