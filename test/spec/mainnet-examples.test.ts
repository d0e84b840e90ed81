/** The examples in the documents, the card and the help text of a mainnet deployment, with and without a dataset. */
import { expect } from 'chai'
import { FREE_PATHS } from '../../agent/operation/endpoints.ts'
import { MAINNET, startFakedService } from '../support/faked-service.ts'
import { messageBody, type requestOverTransports } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'

/** A port that nothing listens on. */
const NO_SOURCE = 'http://127.0.0.1:9/companies.csv'

/** Company numbers in JSON, URLs and form fields. Escaped quotes are those of JSON in JSON. */
const NUMBERS = /(?:company_number\\?"\s*:\s*\\?"|\/api\/v1\/company\/|name="number"[^>]*value=")([0-9]+)/g

/** The number of the made-up company in example answers. */
const MADE_UP = '999999'

async function readEverything({ get, lookup, a2a }: ReturnType<typeof requestOverTransports>) {
  const texts = new Map<string, string>()
  // The script of the page has the definitions of all operations, with the examples of both modes.
  const withoutScript = (text: string) => text.replace(/<script[^]*<\/script>/, '')
  const read = async (name: string, path: string) => texts.set(name, withoutScript((await get(path)).text))
  for (const path of Object.values(FREE_PATHS)) await read(path, path)
  for (const [name, { text }] of [
    ['the quote of a lookup', await lookup('73848')],
    ['the quote over A2A', await a2a({ operation: 'lookup', input: { company_number: '73848' } })],
  ] as const)
    texts.set(name, text + JSON.stringify(Buffer.from(text, 'base64').toString('latin1')))
  return texts.set('the help text', (await a2a(messageBody({ parts: [{ text: 'help' }] }))).text)
}

/** The numbers in a text, and those in its base64 JSON. */
function numbersIn(text: string): string[] {
  const encoded = [...text.matchAll(/"(eyJ[A-Za-z0-9+/=]{100,})"/g)].map(([, base64 = '']) =>
    Buffer.from(base64, 'base64').toString(),
  )
  return [text, ...encoded].flatMap((each) => [...each.matchAll(NUMBERS)].map(([, number = '']) => number))
}

for (const [state, dataset, example] of [
  ['with a dataset', undefined, '2002'],
  ['without a dataset', NO_SOURCE, undefined],
] as const) {
  describe(`[4.4.13] on mainnet ${state}`, () => {
    const environment = { ...MAINNET, ...(dataset !== undefined && { DATASET: dataset }) }
    const requests = useService(() => startFakedService({ environment }))
    let texts: Map<string, string>
    before(async () => void (texts = await readEverything(requests)))

    it('nothing names the synthetic company', () => {
      for (const [name, text] of texts) {
        expect(text, name).not.to.match(/(?<![0-9A-Za-z])00000000(?![0-9A-Za-z])|SYNTHETIC TEST COMPANY/)
        expect(numbersIn(text), name).not.to.include('00000000')
      }
    })

    it(`the number in examples of requests is ${example ?? 'absent'}`, () => {
      const paths = [FREE_PATHS.page, FREE_PATHS.apiGuide, FREE_PATHS.a2aGuide, FREE_PATHS.openApi, 'the help text']
      for (const path of paths) {
        const numbers = new Set(numbersIn(texts.get(path) ?? ''))
        numbers.delete(MADE_UP)
        expect([...numbers], path).to.deep.equal(example === undefined ? [] : [example])
      }
    })

    it(`the number in the card is ${example ?? 'absent'}`, () => {
      const card = texts.get(FREE_PATHS.agentCard) ?? ''
      expect([...new Set(numbersIn(card))]).to.deep.equal(example === undefined ? [] : [example])
      expect(card).not.to.match(/\[\]|\{\}|""/)
    })

    it('the guide begins with a request that gets a quote', async () => {
      const [, target = ''] = /curl -i 'http:\/\/[^/]+([^']+)'/.exec(texts.get(FREE_PATHS.apiGuide) ?? '') ?? []
      expect(target).to.match(new RegExp(`/${example ?? MADE_UP}$`))
      const reply = await requests.get(target)
      expect(reply.status).to.equal(example === undefined ? 503 : 402)
    })
  })
}
