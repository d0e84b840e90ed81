/** What an answer costs to read, in bytes, from the register of the sandbox. */
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { prepareAnswer } from '../../../agent/answer/answers.ts'
import { prepareBatch } from '../../../agent/answer/prepare-batch.ts'
import type { AnswerContext } from '../../../agent/answer/registers.ts'
import { parseOperation } from '../../../agent/operation/operation.ts'
import { retrieveDataset } from '../../../agent/service/dataset.ts'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { Journal } from '../../../store/history/journal.ts'
import { answerBody } from '../../support/companies.ts'
import { singleOf } from '../../support/operations.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('the bytes of an answer from the sandbox', () => {
  let context: AnswerContext
  let catalog: Catalog
  let journal: Journal
  const now = () => new Date('2026-03-09T10:00:00.000Z')

  before(async () => {
    const dataDirectory = await makeTemporaryDirectory()
    catalog = new Catalog(dataDirectory)
    const runImport = () => Promise.reject(new Error('The sample is imported in this process'))
    const request = { dataDirectory, catalog, path: undefined, runImport, now }
    await retrieveDataset(request, new AbortController().signal)
    journal = new Journal(dataDirectory)
    context = { dataset: catalog.current(), journal: () => journal, hasSyntheticCompany: true, now }
  })
  after(() => Promise.all([catalog.close(), journal.close()]))

  function operation(name: string, input: object) {
    const parsed = parseOperation(singleOf(name), input)
    return parsed.kind === 'valid' ? parsed.operation : expect.fail(parsed.fault.rule)
  }

  it('are at most 2,800 for a match, with all that it says of itself', () => {
    const body = answerBody(prepareAnswer(operation('resolve', { name: 'Alpha Sample Trading Ltd' }), context))
    expect(JSON.parse(body)).to.deep.include({
      status: 'matched',
      next: 'nothing',
      related: [],
      past: { complete_since: '2026-03-05', companies: [] },
    })
    expect(Buffer.byteLength(body)).to.be.within(2_000, 2_800)
  })

  it('are at most 24,000 for a batch of twenty matches', async () => {
    const items = Array.from({ length: 20 }, () => operation('resolve', { name: 'Alpha Sample Trading Ltd' }))
    const enter = async () => ({ [Symbol.dispose]: () => undefined })
    const body = answerBody(
      await prepareBatch(items, { openContext: () => context, enter, letOthersConnect: () => setImmediate() }),
    )
    expect(JSON.parse(body).results).to.have.length(20)
    expect(Buffer.byteLength(body)).to.be.within(12_000, 24_000)
  })

  it('are at most 2,000 for three changes, beside a gap of years', () => {
    const body = answerBody(prepareAnswer(operation('changes', { since: '2000-01-01' }), context))
    const { changes, gaps, complete_since } = JSON.parse(body)
    expect(changes).to.have.length(3)
    expect([gaps, complete_since]).to.deep.equal([[{ from: '2000-01-01', to: '2026-03-04' }], '2026-03-05'])
    expect(Buffer.byteLength(body)).to.be.within(800, 2_000)
  })

  it('name a company by its former name, and say that it is one', () => {
    const body = answerBody(prepareAnswer(operation('resolve', { name: 'Alpha Sample Enterprises Ltd' }), context))
    expect(JSON.parse(body).past.companies).to.deep.equal([
      {
        company_number: '100001',
        legal_name: 'ALPHA SAMPLE ENTERPRISES LIMITED',
        relation: 'former_name',
        until: '2026-03-06',
      },
    ])
  })
})
