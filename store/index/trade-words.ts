/**
 * Frequent words of company names that are not surnames. After `O` or `Mc` they show that the letters are initials: "MC
 * ENGINEERING" is not "McEngineering". Words that also follow O or Mc in a surname are left out.
 */
const WORDS = `
  accountancy accounting advisory agri aircraft architects art arts asset assets associates auto automotive autos aviation
  beauty brothers build builders building buildings business cafe capital care carpentry cars catering centre chemicals
  civil civils cleaning clinic club coaching commercial communications community company computer concrete construction
  consultancy consultants consulting contracting contractor contractors contracts creative data decor dental design
  designs development developments digital distribution drain driving education electric electrical electronics elite
  energy engineering engineers enterprise enterprises entertainment environmental equestrian equine equipment estates
  events express facilities farm farming farms fashion fibreglass film films finance financial fitness fleet flooring
  food foods freight fuels furniture games garage gardens global golf group hardware haulage health healthcare heating
  hire holding holdings homes hospitality hotel hotels house hygiene import imports industrial industries innovation
  insurance interiors international investment investments ireland irish joinery kitchens labs landscaping learning
  leasing legal leisure livestock logistics luxury machinery maintenance makeup management manufacturing marine
  marketing meats mechanical media medical mobile motor motorcycles motors music nominees online optical packaging
  painting partners partnership pharma pharmacy photography physio plant plastering plumbing power precision prime print
  printing private produce production productions products professional project projects properties property publishing
  recovery recruitment recycling refrigeration reliable renewables rentals repairs research resources restaurant
  restaurants retail roofing safety sales scaffolding schools security service services signs site software solar
  solutions specialists sport sports squared steel steelworks storage stores streaming studio studios supplies supply
  support surveying systems tech technical technologies technology telecom tiling timber tours trade traders trading
  training transport travel trucks tyres vehicles ventures venue veterinary video water wellness wholesale windows
  workwear works
`

export const TRADE_WORDS: ReadonlySet<string> = new Set(WORDS.trim().split(/\s+/))
